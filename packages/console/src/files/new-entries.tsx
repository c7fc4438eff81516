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
  const { files, runtimeId } = useFiles()
  const uploads = useUploads()
  const navigate = useNavigate({ from: filesRoute })
  const [asks, setAsks] = useState<'file' | 'directory' | null>(null)
  const [error, setError] = useState<unknown>(null)
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
  const upload = (chosen: FileList | null) => {
    setError(null)
    try {
      if (chosen !== null) uploads.add(dir, chosenFiles(chosen))
    } catch (problem) {
      setError(problem)
    }
  }
  const making = asks === 'directory' ? makingDirectory : makingFile
  const ask = (what: 'file' | 'directory') => {
    makingFile.reset()
    makingDirectory.reset()
    setAsks(what)
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
