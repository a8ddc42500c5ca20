"""A reader of serialized HLO modules."""
