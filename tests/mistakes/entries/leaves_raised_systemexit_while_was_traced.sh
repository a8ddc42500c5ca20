olympus trace model:leaves --shapes 'f32[]'
# exit 3
# error: leaves raised SystemExit while it was traced: 0
#   model.py:45
#     raise SystemExit(0)
