olympus trace odd:Net.forward
# exit 2
# error: odd:Net.forward is a method, and needs an object of Net
# hint: make one in the module, such as `it = Net(...)`, and name odd:it.forward
