olympus trace model:nowhere --shapes 'f32[]'
# exit 3
# error: there is no backend 'nowhere'; there are cpu, gpu and tpu
#   model.py:77
#     return olympus.target("nowhere")
