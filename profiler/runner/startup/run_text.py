"""run_text.py TEXT SCRIPT [ARGUMENT...]: as `python SCRIPT [ARGUMENT...]`, with another text than the file's.

The text is a file of its own, so that the script's stays as it is. Tracebacks show its lines.
"""


def _code_of_script():
    import linecache
    import os
    import sys

    with open(sys.argv[1], "rb") as file:
        text = file.read()
    del sys.argv[:2]
    path = os.path.abspath(sys.argv[0])
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    # Without a modification time, linecache does not reread the file.
    linecache.cache[path] = (len(text), None, text.decode(errors="replace").splitlines(keepends=True), path)
    return compile(text, path, "exec", dont_inherit=True)


def _be_main(path):
    """What a script finds in its module."""
    import importlib.machinery
    import sys

    names = sys.modules["__main__"].__dict__
    for name in [name for name in names if name != "__builtins__"]:
        del names[name]
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    names.update(__name__="__main__", __doc__=None, __package__=None, __loader__=loader, __spec__=None)
    names.update(__annotations__={}, __file__=path, __cached__=None)
    return names


def _run():
    code = _code_of_script()
    exec(code, _be_main(code.co_filename))


_run()
