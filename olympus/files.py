"""Named files: read without waiting, and checked before they are written."""

from olympus_core.base.regular_files import check_output as check_output
from olympus_core.base.regular_files import is_device as is_device
from olympus_core.base.regular_files import open_regular as open_regular
from olympus_core.base.regular_files import path_text as path_text
from olympus_core.base.regular_files import read_regular as read_regular
from olympus_core.base.regular_files import source_line as source_line
from olympus_core.base.regular_files import write_refusal as write_refusal
