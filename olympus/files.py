"""Named files and JSON data: read without waiting and checked, and checked before writing."""

from olympus_bundle.json_value import parse_json as parse_json
from olympus_bundle.regular_file import open_regular as open_regular
from olympus_core.base.json_records import Forms as Forms
from olympus_core.base.json_records import Number as Number
from olympus_core.base.json_records import check_keys as check_keys
from olympus_core.base.json_records import form as form
from olympus_core.base.json_records import form_of as form_of
from olympus_core.base.json_records import number as number
from olympus_core.base.json_records import remember_types as remember_types
from olympus_core.base.json_records import to_data as to_data
from olympus_core.base.json_records import typed as typed
from olympus_core.base.json_schema import SCHEMA_DIALECT as SCHEMA_DIALECT
from olympus_core.base.json_schema import RecordSchemas as RecordSchemas
from olympus_core.base.json_schema import SchemaConstraints as SchemaConstraints
from olympus_core.base.regular_files import check_output as check_output
from olympus_core.base.regular_files import is_device as is_device
from olympus_core.base.regular_files import path_text as path_text
from olympus_core.base.regular_files import read_regular as read_regular
from olympus_core.base.regular_files import source_line as source_line
from olympus_core.base.regular_files import write_refusal as write_refusal
from olympus_core.base.user_folders import user_cache_folder as user_cache_folder
from olympus_core.base.user_folders import user_settings_folder as user_settings_folder
