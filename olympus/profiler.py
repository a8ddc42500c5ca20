"""`olympus.profiler`: recordings of a process by XLA's profiler, and names in them."""

from olympus_core.library.profiler import ProfileOptions as ProfileOptions
from olympus_core.library.profiler import StepTraceAnnotation as StepTraceAnnotation
from olympus_core.library.profiler import TraceAnnotation as TraceAnnotation
from olympus_core.library.profiler import annotate_function as annotate_function
from olympus_core.library.profiler import start_trace as start_trace
from olympus_core.library.profiler import stop_trace as stop_trace
from olympus_core.library.profiler import trace as trace
