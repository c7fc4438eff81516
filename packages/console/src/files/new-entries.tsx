import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, FileTrigger } from 'react-aria-components'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { pathIn } from './file-paths.ts'
import { useFiles } from './files-context.ts'
import { filesRoute } from './files-route.ts'
import { NameDialog } from './name-dialog.tsx'
import { chosenFiles } from './picked-files.ts'
import { useUploads } from './use-uploads.ts'

/** The buttons that put something new into a directory. */
export function NewEntries({ dir }: { readonly dir: string }) {
  const uploads = useUploads()
  const [error, setError] = useState<unknown>(null)
  const { asks, ask, end, making } = useNewEntry(dir)
  const upload = (chosen: FileList | null) => {
    setError(null)
    try {
      if (chosen !== null) uploads.add(dir, chosenFiles(chosen))
    } catch (problem) {
      setError(problem)
    }
  }
  return (
    <fieldset className="actions" aria-label="New here">
      <Button className="button" onPress={() => ask('file')}>
        New file
      </Button>
      <Button className="button" onPress={() => ask('directory')}>
        New directory
      </Button>
      <FileTrigger allowsMultiple onSelect={upload}>
        <Button className="button">Upload files</Button>
      </FileTrigger>
      <FileTrigger acceptDirectory onSelect={upload}>
        <Button className="button">Upload a directory</Button>
      </FileTrigger>
      {error === null ? null : <ErrorNotice error={error} />}
      {asks === null ? null : (
        <NameDialog
          title={asks === 'directory' ? 'New directory' : 'New file'}
          isPending={making.isPending}
          error={making.error}
          onName={(name) => making.mutate(name)}
          onClose={end}
        />
      )}
    </fieldset>
  )
}

/** The kinds of entries that are made after a question for their name. */
type NewEntry = 'file' | 'directory'

/** Returns what is asked for, and the change that makes it. A new file is opened. */
function useNewEntry(dir: string) {
  const { files, runtimeId } = useFiles()
  const navigate = useNavigate({ from: filesRoute })
  const [asks, setAsks] = useState<NewEntry | null>(null)
  const changes = [['files', runtimeId, dir]]
  const end = () => setAsks(null)
  const makingFile = useHoltMutation({
    run: (_, name: string) => files.write(pathIn(dir, name), '', { overwrite: false }),
    changes,
    onSuccess: ({ path }) => {
      end()
      void navigate({ to: '.', search: (before) => ({ ...before, path: dir, open: path }) })
    },
  })
  const makingDirectory = useHoltMutation({
    run: (_, name: string) => files.makeDirectory(pathIn(dir, name), { parents: false }),
    changes,
    onSuccess: end,
  })
  const ask = (what: NewEntry) => {
    makingFile.reset()
    makingDirectory.reset()
    setAsks(what)
  }
  return { asks, ask, end, making: asks === 'directory' ? makingDirectory : makingFile }
}
