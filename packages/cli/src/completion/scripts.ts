/** The shells with completion. */
export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

const bash = `_holt() {
  local line word files=
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = :files ]; then files=1; continue; fi
    printf -v word %q "\${line%%$'\\t'*}"
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case "\${COMPREPLY[*]-}" in *:) compopt -o nospace 2>/dev/null ;; esac
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
  fi
}
complete -F _holt holt
`

const zsh = `#compdef holt
_holt() {
  local line files=0
  local -a entries
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,$CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then files=1
    elif [[ -n $line ]]; then entries+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( \${#entries} )) && _describe holt entries
  (( files )) && _files
}
compdef _holt holt
`

const fish = `function __holt_complete
  set -l tokens (commandline -opc)
  set -l current (commandline -ct)
  for line in ($tokens[1] __complete -- $tokens[2..-1] "$current" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$current"
    else
      printf '%s\\n' $line
    end
  end
end
complete -c holt -f -a '(__holt_complete)'
`

/** The scripts that shells source. They ask `holt __complete`, so they need no update. */
export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish }
