olympus trace math:sin --shapes 'x={from=m:}'
# exit 2
# error: expected the name of a function after ':'
#   x={from=m:}
#             ^
# hint: an entry is module:function
