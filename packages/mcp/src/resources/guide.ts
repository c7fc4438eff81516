/** The text of the resource `holt://docs`: what a model needs to use the tools well. */
export const guide = `# Holt for agents

Holt runs commands in runtimes: isolated Linux machines with their own files, processes and memory.
Nothing that you do in a runtime reaches the machine of the person you work for.

## A usual job

1. create_runtime. The result has the runtime_id. A session that is bound to one runtime has it
   already, and its tools take no argument runtime.
2. write_file, or git_clone if the network policy allows the host.
3. run_command for tests and builds. read_file and search_files to look, edit_file to change.
4. snapshot_runtime or fork_runtime before a risky step.
5. delete_runtime when the work is done.

## Commands

* Each run_command is a new shell. For several steps in one directory use cwd, or "cd DIR && ...".
* The time limit is 60 seconds unless timeout_secs says more.
* A server or a watcher needs background: true. Read its output with read_output and wait_secs, and
  end it with stop_command. expose_port returns a URL for a server.
* A result has the beginning and the end of long output. The note in the middle says how many bytes
  were left out, and read_output with its cursor returns them. A runtime keeps the last MiB.
* An exit code that is not 0 is a result, not an error of the tool.

## Code

* run_code runs cells of a notebook in a runtime of the template code-interpreter. Variables and
  imports stay for later code of the same context. Charts are returned as images.
* Each language has a default context. create_code_context makes another one.
* A note says how to read output that was left out, with read_code_output.
* interrupt_code ends code and keeps the variables. restart_code_context loses them.

## Git

* git_clone, git_status, git_diff, git_commit and git_push work in any runtime with git. Other verbs
  of git are commands.
* Name a secret for a private repository: secret. Its token never comes into the runtime.

## Files

* Paths are absolute. The working directory of the templates is /workspace.
* read_file returns a part of a long file, and says which start_line comes next.
* Control characters in results are written out, as \\u001b. Colours are removed from output.
* edit_file replaces an exact text. If the text occurs more or less often than expected_count,
  nothing changes. Read the file, and give more lines around the place.

## Network and secrets

* A runtime without a network policy reaches nothing. With one, it reaches the hosts of its rules.
* After a failure, network_log has the denied connections, and suggest_network_policy the rules that
  would allow them. No tool changes a policy: ask the person you work for.
* The environment has placeholders of secrets. Holt puts the values into requests to their hosts.

## Templates

* base-small has Python, Node, Git and compilers. list_templates has the others.
* A Python package manager manages Python: pip and uv install into /workspace/.venv.
* build_template makes a template with your packages, so that later runtimes start with them.

## Errors

An error has a code, a hint and a request id. Follow the hint. Give the request id to the operator
if the code is internal.

## Resources

* holt://runtimes/RUNTIME/files/PATH is a file of a runtime, up to 1 MiB.
* holt://runtimes/RUNTIME/commands/COMMAND_ID/output is the output of a command that is kept.
`
