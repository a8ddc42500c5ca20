olympus trace leaving.py:f
# exit 2
# error: leaving exits while it is imported: 0
#   leaving.py:1
#     raise SystemExit(0)
