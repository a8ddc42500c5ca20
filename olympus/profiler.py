"""`olympus.profiler`: recordings of a process by XLA's profiler, and names in them."""

from olympus_core.library.profiler import ProfileData as ProfileData
from olympus_core.library.profiler import ProfileEvent as ProfileEvent
from olympus_core.library.profiler import ProfileLine as ProfileLine
from olympus_core.library.profiler import ProfileOptions as ProfileOptions
from olympus_core.library.profiler import ProfilePlane as ProfilePlane
from olympus_core.library.profiler import ProfileSession as ProfileSession
from olympus_core.library.profiler import StepTraceAnnotation as StepTraceAnnotation
from olympus_core.library.profiler import TraceAnnotation as TraceAnnotation
from olympus_core.library.profiler import annotate_function as annotate_function
from olympus_core.library.profiler import device_memory_profile as device_memory_profile
from olympus_core.library.profiler import export_profile_data as export_profile_data
from olympus_core.library.profiler import register_subprocess as register_subprocess
from olympus_core.library.profiler import save_device_memory_profile as save_device_memory_profile
from olympus_core.library.profiler import start_server as start_server
from olympus_core.library.profiler import start_trace as start_trace
from olympus_core.library.profiler import stop_server as stop_server
from olympus_core.library.profiler import stop_trace as stop_trace
from olympus_core.library.profiler import trace as trace
