"""Freshness without tracing: the targets whose inputs are unchanged since their last trace."""
