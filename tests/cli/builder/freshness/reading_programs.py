"""Programs that read something, and what the recording of their trace must have.

Each is the source of a module of a project. `run` executes them all in one process, which is not
the test runner's, because the recording replaces functions of Python.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

CLOCK, NETWORK, RANDOM = "the clock", "the network", "a random source"
SEED = "the hash seed of its process"
SYSTEM, CTYPES = "the state of the system", "files through native code (ctypes)"
LISTING, PROGRAM = "a directory listing", "the output of another program"

#: Sources that read something without a state: the name of each, and its line.
ALWAYS = {
    "time": ("import time\nt = time.time()", CLOCK, 2),
    "time_from": ("from time import perf_counter as now\nt = now()", CLOCK, 2),
    "localtime": ("import time\nt = time.strftime('%Y')", CLOCK, 2),
    "datetime": ("import datetime\n\nt = datetime.datetime.now()", CLOCK, 3),
    "today": ("from datetime import date\nt = date.today()", CLOCK, 2),
    "datetime64": ("import numpy as np\nt = np.datetime64('now')", CLOCK, 2),
    "random": ("import random\nx = random.random()", RANDOM, 2),
    "random_from": ("from random import choice\nx = choice('ab')", RANDOM, 2),
    "random_instance": ("import random\nx = random.Random().random()", RANDOM, 2),
    "seed_of_time": ("import random\nrandom.seed()", RANDOM, 2),
    "seeded_late": ("import random\nx = random.random()\nrandom.seed(1)", RANDOM, 2),
    "numpy_legacy": ("import numpy as np\nx = np.random.rand(3)", RANDOM, 2),
    "random_state_unseeded": ("import numpy as np\nx = np.random.RandomState()", RANDOM, 2),
    "random_state_none": ("import numpy as np\nx = np.random.RandomState(None)", RANDOM, 2),
    "numpy_sample": ("import numpy as np\n\nx = np.random.sample(3)", RANDOM, 3),
    "numpy_generator": ("import numpy as np\nx = np.random.default_rng().random()", RANDOM, 2),
    "urandom": ("import os\nx = os.urandom(4)", RANDOM, 2),
    "uuid": ("import uuid\nx = uuid.uuid4()", RANDOM, 2),
    "secrets": ("import secrets\nx = secrets.token_hex()", RANDOM, 2),
    "device": ("x = open('/dev/urandom', 'rb').read(4)", RANDOM, 1),
    "listdir": ("import os\nx = os.listdir('.')", LISTING, 2),
    "scandir": ("import os\nx = list(os.scandir('.'))", LISTING, 2),
    "glob": ("import glob\nx = glob.glob('*.npy')", LISTING, 2),
    "iterdir": ("from pathlib import Path\nx = list(Path().iterdir())", LISTING, 2),
    "thread": (
        "import os\nfrom concurrent.futures import ThreadPoolExecutor as Pool\n"
        "x = list(Pool(1).map(os.listdir, ['.']))",
        LISTING,
        None,
    ),
    "clock_gettime": ("import time\nx = time.clock_gettime(time.CLOCK_REALTIME)", CLOCK, 2),
    "function_now": ("from datetime import datetime\nf = datetime.now\nx = f()", CLOCK, 2),
    "uuid1": ("import uuid\nx = uuid.uuid1()", CLOCK, 2),
    "hash": ("x = hash('abc')", SEED, 1),
    "host": ("import socket\nx = socket.gethostname()", SYSTEM, 2),
    "spawn": (
        "import multiprocessing as m\nx = m.get_context('spawn').Process(target=abs, args=(1,))\n"
        "x.start()\nx.join()",
        PROGRAM,
        3,
    ),
    "getpid": ("import os\nx = os.getpid()", SYSTEM, 2),
    "meminfo": ("x = open('/proc/meminfo').read()", SYSTEM, 1),
    "ctypes": ("import ctypes\nx = ctypes.CDLL('libm.so.6')", CTYPES, 2),
    "subprocess": ("import subprocess\nx = subprocess.run(['true'])", PROGRAM, 2),
    "system": ("import os\nx = os.system('true')", PROGRAM, 2),
    "resolve": ("import socket\nx = socket.getaddrinfo('127.0.0.1', 1)", NETWORK, 2),
    "library": ("import library\nx = library.draw()", RANDOM, 2),
}

#: Sources that read nothing without a state.
STEADY = {
    "plain": "import olympus.numpy as np",
    "seeded": "import random\nrandom.seed(3)\nx = random.random()",
    "numpy_seeded": "import numpy as np\nnp.random.seed(3)\nx = np.random.rand(3)",
    "generator_seeded": "import numpy as np\nx = np.random.default_rng(3).random()",
    "instance_seeded": "import random\nx = random.Random(3).random()",
    "time_of_number": "import time\nx = time.gmtime(0)",
    "temporary": "import tempfile\nwith tempfile.TemporaryDirectory() as d:\n    pass",
    "logging": "import logging\nlogging.getLogger('x').warning('w')",
    "imports_library": "import library",
    "random_state": "import numpy as np\nx = np.random.RandomState(seed=1).rand(3)",
    "random_state_from": "from numpy.random import RandomState as R, RandomState\n"
    "x = RandomState(\n    1,\n).rand(3)",
    "numpy_state": "import numpy as np\nnp.random.set_state(np.random.RandomState(1).get_state())",
}

#: Sources that read files, variables and the state of paths: field of `Reads` and expected entries.
READS = {
    "open": ("x = open('data.txt').read()", "files", ["data.txt"]),
    "bytes_name": ("x = open(b'data.txt').read()", "files", ["data.txt"]),
    "read_text": (
        "from pathlib import Path\nx = Path('data.txt').read_text()",
        "files",
        ["data.txt"],
    ),
    "numpy_load": ("import numpy as np\nx = np.load('data.npy')", "files", ["data.npy"]),
    "memmap": (
        "import numpy as np\nx = np.load('data.npy', mmap_mode='r')",
        "files",
        ["data.npy"],
    ),
    "fromfile": ("import numpy as np\nx = np.fromfile('data.txt', 'u1')", "files", ["data.txt"]),
    "missing": ("try:\n    open('none.txt')\nexcept OSError:\n    pass", "missing", ["none.txt"]),
    "module": ("import sibling", "files", ["sibling.py"]),
    "package": ("import pack.part", "files", ["pack/__init__.py", "pack/part.py"]),
    "package_folder": ("import pack.part", "folders", ["pack"]),
    "append_and_read": (
        "f = open('data.txt', 'a+')\nf.seek(0)\nx = f.read()",
        "files",
        ["data.txt"],
    ),
    "database": (
        "import sqlite3\nx = sqlite3.connect('file:data.db?mode=ro', uri=True)",
        "files",
        ["data.db"],
    ),
    "in_folder": (
        "import os\nd = os.open('pack', os.O_RDONLY)\n"
        "x = os.open('part.py', os.O_RDONLY, dir_fd=d)",
        "files",
        ["pack/part.py"],
    ),
    "behind_a_link": (
        "x = open('to_f/../other/old.txt').read()",
        "files",
        ["build/other/old.txt"],
    ),
    "fstat": (
        "import os\nx = os.fstat(os.open('data.txt', 0)).st_mtime",
        "statuses",
        ["data.txt"],
    ),
    "other_output": ("x = open('build/other/old.txt').read()", "files", ["build/other/old.txt"]),
    "safetensors": (
        "from safetensors.numpy import load_file\nx = load_file('data.safetensors')",
        "files",
        ["data.safetensors"],
    ),
    "readlink": ("import os\nx = os.readlink('link')", "links", ["link"]),
    "realpath": ("import os\nx = os.path.realpath('link')", "links", ["link"]),
    "library_exists": ("import library\nx = library.has_settings()", "kinds", ["settings.env"]),
    "environb": ("import os\nx = os.environb.get(b'SCALE')", "variables", ["SCALE"]),
    "descriptor": ("import os\nx = os.read(os.open('data.txt', 0), 9)", "files", ["data.txt"]),
    "exists": ("import os\nx = os.path.exists('flag')", "kinds", ["flag"]),
    "is_file": ("from pathlib import Path\nx = Path('flag').is_file()", "kinds", ["flag"]),
    "stat": ("import os\nx = os.stat('data.txt').st_mtime", "statuses", ["data.txt"]),
    "getsize": ("import os\nx = os.path.getsize('data.txt')", "statuses", ["data.txt"]),
    "environ": ("import os\nx = os.environ.get('SCALE')", "variables", ["SCALE"]),
    "getenv": ("import os\nx = os.getenv('SCALE', '1')", "variables", ["SCALE"]),
    "in_environ": ("import os\nx = 'SCALE' in os.environ", "variables", ["SCALE"]),
    "item": (
        "import os\ntry:\n    os.environ['SCALE']\nexcept KeyError:\n    pass",
        "variables",
        ["SCALE"],
    ),
}

#: Sources that read every variable, the working directory, and a file by its absolute path.
OTHERS = {
    "whole_environment": "import os\nx = dict(os.environ)",
    "number_of_variables": "import os\nx = len(os.environ)",
    "library_environment": "import library\nx = library.variables()",
    "getcwd": "from pathlib import Path\nx = Path.cwd()",
    "absolute": "from pathlib import Path\nx = Path(__file__).with_name('data.txt').read_text()",
}

#: Sources that must not add an entry to a field of `Reads`.
NOT_READ = {
    "written": ("open('out.txt', 'w').write('1')\nx = open('out.txt').read()", "files", "out.txt"),
    "own_variable": (
        "import os\nos.environ['OWN'] = '1'\nx = os.environ['OWN']",
        "variables",
        "OWN",
    ),
    "outputs": ("x = open('build/f/old.txt').read()", "files", "build/f/old.txt"),
}

SOURCES = {
    **{name: row[0] for name, row in ALWAYS.items()},
    **STEADY,
    **OTHERS,
    **{name: row[0] for name, row in READS.items()},
    **{name: row[0] for name, row in NOT_READ.items()},
}


def write_project(folder: Path) -> None:
    """Write the modules, and the files that they read, into `folder`."""
    import numpy as np
    from safetensors.numpy import save_file

    for name, source in SOURCES.items():
        (folder / f"case_{name}.py").write_text(source + "\n")
    (folder / "data.txt").write_text("12345")
    np.save(folder / "data.npy", np.arange(3))
    (folder / "sibling.py").write_text("x = 1\n")
    for package in ("pack", "build"):
        (folder / package).mkdir()
    (folder / "pack/__init__.py").write_text("")
    (folder / "pack/part.py").write_text("x = 1\n")
    for name in ("f", "other"):
        (folder / "build" / name).mkdir()
        (folder / "build" / name / "old.txt").write_text("1")
    (folder / "link").symlink_to("data.txt")
    (folder / "to_f").symlink_to("build/f")
    sqlite3.connect(folder / "data.db").execute("create table t (v)").connection.close()
    save_file({"x": np.arange(3.0)}, folder / "data.safetensors")
    installed = folder / "lib/site-packages"
    installed.mkdir(parents=True)
    (installed / "library.py").write_text(
        "import os, random, time\nimport numpy as np\n\n"
        "START = time.time(), os.urandom(2), os.listdir('.')\n"
        "DRAWN = np.random.rand(1), random.random()\n\n\n"
        "def draw():\n    return os.urandom(2)\n\n\n"
        "def has_settings():\n    return os.path.exists('settings.env')\n\n\n"
        "def variables():\n    return dict(os.environ)\n"
    )


def run(folder: str) -> None:
    """Import each module in a recording of its own, and write all reads to stdout as JSON."""
    from olympus_cli.builder.freshness.collecting import Collector
    from olympus_cli.builder.freshness.inputs import Here
    from olympus_cli.builder.freshness.recording import recording

    os.chdir(folder)
    sys.path[:0] = [folder, f"{folder}/lib/site-packages"]
    sys.dont_write_bytecode = True
    found: dict[str, Any] = {}
    for name in SOURCES:
        for module in ("library", "sibling", "pack", "pack.part"):
            sys.modules.pop(module, None)
        pipe = os.pipe()
        if (child := os.fork()) == 0:
            with recording(f"{folder}/build/f") as recorder:
                __import__(f"case_{name}")
            reads = recorder.reads()
            collector = Collector(Here(folder))
            collector.of(replace(reads, started=time.time_ns() + 10**12), ())
            data = {**asdict(reads), "always": collector.always(reads)}
            with open(pipe[1], "w") as stream:
                json.dump(data, stream)
            os._exit(0)
        os.close(pipe[1])
        with open(pipe[0]) as stream:
            found[name] = json.loads(stream.read())
        os.waitpid(child, 0)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    run(sys.argv[1])
