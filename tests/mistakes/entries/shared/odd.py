import dataclasses


async def later(x):
    return x


async def stream(x):
    yield x


def items(x):
    yield x


class Net:
    def forward(self, x):
        return x + 1

    @classmethod
    def make(cls, x):
        return x + 2

    def __call__(self, x):
        return x + 3


net = Net()


@dataclasses.dataclass
class Pair:
    a: object


def pair(x):
    return Pair(x)


def awaits(x):
    return later(x)


def plain(x):
    return {"n": net}
