olympus trace model:net
# exit 2
# error: model:net is a value of type Net, not a function
# hint: an entry is package.module:function or path/file.py:function
