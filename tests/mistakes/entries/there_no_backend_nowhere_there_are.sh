olympus trace model:nowhere --shapes 'f32[]'
# exit 3
# error: Unknown backend nowhere: no backend is named 'nowhere'; the backends are cpu, gpu and tpu
#   model.py:77
#     return olympus.target("nowhere")
