"""`olympus.monitoring`: listeners to named events, which users and libraries record."""

from __future__ import annotations

from collections.abc import Callable

from olympus_core.base.errors import ArgumentError

_events: list[Callable[..., None]] = []
_durations: list[Callable[..., None]] = []
_spans: list[Callable[..., None]] = []
_scalars: list[Callable[..., None]] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Call the listeners to events with a name and more data.

    >>> record_event("cache miss", program="f")
    """
    for callback in list(_events):
        callback(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Call the listeners to durations with a name, seconds and more data.

    >>> record_event_duration_secs("compile", 0.5)
    """
    for callback in list(_durations):
        callback(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Call the listeners to time spans with a name, two times and more data.

    >>> record_event_time_span("compile", 1.0, 1.5)
    """
    for callback in list(_spans):
        callback(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Call the listeners to scalars with a name, a number and more data.

    >>> record_scalar("loss", 0.25)
    """
    for callback in list(_scalars):
        callback(event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Add a listener to events: a function of a name and keyword arguments.

    >>> register_event_listener(print)
    >>> record_event("start")
    start
    >>> unregister_event_listener(print)
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Add a listener to durations: a function of a name, seconds and keyword arguments.

    >>> register_event_duration_secs_listener(print)
    >>> unregister_event_duration_listener(print)
    """
    _durations.append(callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Add a listener to time spans: a function of a name, two times and keyword arguments.

    >>> register_event_time_span_listener(print)
    >>> unregister_event_time_span_listener(print)
    """
    _spans.append(callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Add a listener to scalars: a function of a name, a number and keyword arguments.

    >>> register_scalar_listener(print)
    >>> unregister_scalar_listener(print)
    """
    _scalars.append(callback)


def _remove(listeners: list[Callable[..., None]], callback: Callable[..., None]) -> None:
    if callback not in listeners:
        raise ArgumentError(f"{callback!r} is no registered listener")
    listeners.remove(callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Remove a listener to events; raise ArgumentError if it is not registered.

    >>> register_event_listener(print)
    >>> unregister_event_listener(print)
    """
    _remove(_events, callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Remove a listener to durations; raise ArgumentError if it is not registered.

    >>> register_event_duration_secs_listener(print)
    >>> unregister_event_duration_listener(print)
    """
    _remove(_durations, callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Remove a listener to time spans; raise ArgumentError if it is not registered.

    >>> register_event_time_span_listener(print)
    >>> unregister_event_time_span_listener(print)
    """
    _remove(_spans, callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Remove a listener to scalars; raise ArgumentError if it is not registered.

    >>> register_scalar_listener(print)
    >>> unregister_scalar_listener(print)
    """
    _remove(_scalars, callback)


def clear_event_listeners() -> None:
    """Remove all listeners.

    >>> clear_event_listeners()
    """
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()
