"""The code interpreter."""

import e2b_code_interpreter as ci
from e2b import NotFoundException
from recorder import check, finish, loop, record, refused, the

for name in ("Execution", "Result", "ExecutionError", "Logs", "Context"):
    record(getattr(ci, name), name)

for kind in (ci.Sandbox, ci.AsyncSandbox):
    S = kind.__name__
    record(kind, S)
    sandbox = loop.run_until_complete(the(kind.create(timeout=900, envs={"OF_ALL": "x"})))

    async def run(code, **options):
        return await the(sandbox.run_code(code, **options))

    async def runs():
        await run("x = 41")
        seen = []
        execution = await run(
            'import os, sys\nprint(os.environ["A"], os.environ["OF_ALL"])\nprint("bad", file=sys.stderr)\nx + 1',
            on_stdout=seen.append, on_stderr=seen.append, on_result=seen.append, envs={"A": "b c"},
        )
        assert execution.text == "42" and len(seen) == 3, (execution, seen)
        assert execution.logs.stdout == ["b c x\n"] and '"bad' in execution.logs.to_json()
        assert '"results"' in execution.to_json()
        plot = (await run("import matplotlib.pyplot as p\np.plot([1, 2])\np.show()")).results[0]
        assert "png" in plot.formats()
        error = (await run("1/0")).error
        assert (error.name, error.value) == ("ZeroDivisionError", "division by zero") and "1/0" in error.to_json()
        await refused(lambda: run("import time; time.sleep(20)", timeout=1), Exception)
        assert (await run("x")).text == "41"
        assert "42" in "".join((await run("console.log(6 * 7)", language="javascript")).logs.stdout)

    check(
        "code runs, and its results, outputs and errors arrive",
        runs,
        works=f"{S}.run_code Execution.to_json Logs.to_json Result.formats ExecutionError.to_json",
    )

    async def languages():
        await refused(lambda: run("1", language="r"), Exception, "500")
        await refused(lambda: run("1", language="java"), Exception, "500")

    check(
        "a language that is not installed is refused",
        languages,
        differs={f"{S}.run_code": "R and Java are not installed: the answer is 500"},
    )

    async def contexts():
        context = await the(sandbox.create_code_context(cwd="/tmp", language="python"))
        assert (context.cwd, context.language) == ("/tmp", "python")
        assert (await run("import os; y = 1; os.getcwd()", context=context)).text == "'/tmp'"
        assert (await run("x", context=context)).error.name == "NameError"
        assert context.id in [one.id for one in await the(sandbox.list_code_contexts())]
        await the(sandbox.restart_code_context(context))
        assert (await run("y", context=context)).error.name == "NameError"
        await the(sandbox.remove_code_context(context))
        assert context.id not in [one.id for one in await the(sandbox.list_code_contexts())]
        await refused(lambda: run("1", context=context), NotFoundException)

    check(
        "contexts have their own state",
        contexts,
        works=f"{S}.create_code_context {S}.list_code_contexts {S}.restart_code_context {S}.remove_code_context "
        "Context.from_json",
    )
    loop.run_until_complete(the(sandbox.kill()))

finish()
