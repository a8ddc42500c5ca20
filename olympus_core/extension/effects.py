"""`Effect`: the class of effects that the types of a user's primitive may have."""

from __future__ import annotations


class Effect:
    """An effect besides the results of a primitive, which a user derives a class from.

    `def_effectful_abstract_eval` returns a set of them: its equations are neither removed nor
    merged.

    >>> class Notice(Effect): ...
    """


Effects = set[Effect]
