"""Generate the reference pages and build the documentation site.

`python -m tools.site` copies `docs/` to `build/site/pages`, adds a page for each public package and
runs zensical in strict mode, which also checks links and anchors.  The tables of the command line
and of olympus.toml are sections of committed pages, which
`pytest tests/documents/test_docs.py --update-golden` writes with the functions of `commands` and
`keys`.
"""
