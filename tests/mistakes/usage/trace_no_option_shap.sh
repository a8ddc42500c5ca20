olympus trace m:f --shap=x
# exit 2
# error: olympus trace has no option '--shap'
# hint: did you mean --shapes?
