"""Source lines and name scopes of operations."""

from olympus_core.base.source import Source as _Source
from olympus_core.base.source import register_exclusion as register_exclusion
from olympus_core.extension.source_info import NameStack as NameStack
from olympus_core.extension.source_info import current as current
from olympus_core.extension.source_info import current_name_stack as current_name_stack
from olympus_core.extension.source_info import extend_name_stack as extend_name_stack
from olympus_core.extension.source_info import new_name_stack as new_name_stack
from olympus_core.extension.source_info import new_source_info as new_source_info
from olympus_core.extension.source_info import reset_name_stack as reset_name_stack
from olympus_core.extension.source_info import set_name_stack as set_name_stack
from olympus_core.extension.source_info import summarize as summarize
from olympus_core.extension.source_info import transform_name_stack as transform_name_stack
from olympus_core.extension.source_info import user_context as user_context

SourceInfo = _Source
