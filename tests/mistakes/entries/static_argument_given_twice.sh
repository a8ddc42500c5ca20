olympus trace model:forward --static a=1 --static a=2
# exit 2
# error: static argument 'a' is given twice
