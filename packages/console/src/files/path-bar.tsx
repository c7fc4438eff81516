import { writtenOut } from '@holt/sdk'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button, Input, TextField } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { baseOf, parentOf, pathsTo, typedPath } from './file-paths.ts'
import { useFiles } from './files-context.ts'
import { filesRoute } from './files-route.ts'

interface PathBarProps {
  /** The directory from which a relative path begins. */
  readonly dir: string
  /** The shown directory or file. */
  readonly path: string
}

/** The path of what is shown: a link for each directory, or a field to type another path. */
export function PathBar({ dir, path }: PathBarProps) {
  const [isTyping, setTyping] = useState(false)
  if (isTyping) return <TypedPath key={path} dir={dir} path={path} onEnd={() => setTyping(false)} />
  return (
    <div className="path-bar">
      <nav aria-label="Path">
        <ol>
          {pathsTo(path).map((each) => (
            <li key={each}>
              {each === path ? (
                <bdi aria-current="page">{nameOf(each)}</bdi>
              ) : (
                <Link
                  from={filesRoute}
                  to="."
                  search={({ hidden }) => ({ path: each, ...(hidden === true ? { hidden } : {}) })}
                >
                  <bdi>{nameOf(each)}</bdi>
                </Link>
              )}
            </li>
          ))}
        </ol>
      </nav>
      <Button className="button quiet" onPress={() => setTyping(true)}>
        Type a path
      </Button>
    </div>
  )
}

function nameOf(path: string): string {
  return path === '/' ? '/' : writtenOut(baseOf(path))
}

/** The field for a path, absolute or relative. It opens a directory or a file. */
function TypedPath({ dir, path, onEnd }: PathBarProps & { readonly onEnd: () => void }) {
  const { files } = useFiles()
  const navigate = useNavigate({ from: filesRoute })
  const [text, setText] = useState(path)
  const going = useMutation({
    mutationFn: (to: string) => files.stat(to),
    onSuccess: ({ type }, to) => {
      onEnd()
      void navigate({
        to: '.',
        search: ({ hidden }) => ({
          ...(type === 'directory' ? { path: to } : { path: parentOf(to), open: to }),
          ...(hidden === true ? { hidden } : {}),
        }),
      })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!going.isPending) going.mutate(typedPath(dir, text))
  }
  return (
    <form onSubmit={submit}>
      <div className="path-bar">
        <TextField
          aria-label="Path"
          autoFocus
          value={text}
          onChange={setText}
          onKeyDown={({ key }) => {
            if (key === 'Escape') onEnd()
          }}
        >
          <Input spellCheck="false" autoComplete="off" />
        </TextField>
        <BusyButton className="button" type="submit" isBusy={going.isPending}>
          Go
        </BusyButton>
        <Button className="button quiet" onPress={onEnd}>
          Cancel
        </Button>
      </div>
      {going.isError ? <ErrorNotice error={going.error} /> : null}
    </form>
  )
}
