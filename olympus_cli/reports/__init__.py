"""Reports: `model` says what a build knows of a program; `text` and `json` show it."""
