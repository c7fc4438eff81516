import { type FileVersion, writtenOut } from '@holt/sdk'
import { useBlocker } from '@tanstack/react-router'
import { useEffectEvent, useRef, useState } from 'react'
import { BusyButton } from '../parts/busy-button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { type CodeHandle, CodeView } from './code-view.tsx'
import { ConflictDialog } from './conflict-dialog.tsx'
import { DownloadButton } from './download-button.tsx'
import { baseOf, parentOf } from './file-paths.ts'
import type { FileText } from './file-text.ts'
import { useFiles } from './files-context.ts'
import { useSave } from './use-save.ts'
import { useWatch } from './use-watch.ts'

/** The text of a file, with its version. */
type OpenedText = Extract<FileText, { readonly type: 'text' }> & { readonly version: FileVersion }

interface TextEditorProps {
  readonly path: string
  readonly opened: OpenedText
  readonly isReadOnly: boolean
  /** Reads the file again in place of what is shown. */
  readonly reload: () => Promise<void>
}

/** The editor of a text. A save overwrites nobody else's change. */
export function TextEditor({ path, opened, isReadOnly, reload }: TextEditorProps) {
  const { files } = useFiles()
  const code = useRef<CodeHandle>(null)
  const [isChanged, setChanged] = useState(false)
  const [isOld, setOld] = useState(false)
  const { saving, conflict, save, overwrite, forget, version } = useSave({
    path,
    opened: opened.version,
    onSaved: () => {
      setOld(false)
      code.current?.saved()
    },
  })
  const canSave = isChanged && !isReadOnly && !saving.isPending
  const saveNow = () => {
    const text = code.current?.text()
    if (canSave && text !== undefined) save(text)
  }
  const takeTheirs = async () => {
    forget()
    await reload()
  }
  const look = useEffectEvent(async () => {
    const found = await files.stat(path).catch(() => null)
    if (found?.etag === undefined || found.etag === version || saving.isPending) return
    if (isChanged) setOld(true)
    else await reload()
  })
  useWatch({
    path: parentOf(path),
    onChange: (paths) => {
      if (paths === null || paths.has(path)) void look()
    },
  })
  return (
    <section
      className="file-editor"
      aria-label={`Editor of ${writtenOut(baseOf(path))}`}
      onKeyDown={(event) => {
        if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return
        event.preventDefault()
        saveNow()
      }}
    >
      <EditorBar
        path={path}
        canSave={canSave}
        isSaving={saving.isPending}
        saveNow={isReadOnly ? null : saveNow}
        status={isReadOnly ? 'Your key may only read it.' : isChanged ? '● Not saved' : saving.isSuccess ? 'Saved' : ''}
      />
      {isOld ? (
        <div className="notice" role="status">
          <p>The file has changed in the runtime since it was opened here. A save shows the difference first.</p>
        </div>
      ) : null}
      {saving.isError ? <ErrorNotice error={saving.error} /> : null}
      <CodeView
        ref={code}
        path={path}
        text={opened.text}
        lineBreak={opened.lineBreak}
        isReadOnly={isReadOnly}
        onChanged={setChanged}
      />
      <ConflictDialog conflict={conflict} onReload={takeTheirs} onOverwrite={overwrite} onClose={forget} />
      <LeaveQuestion isChanged={isChanged} />
    </section>
  )
}

interface EditorBarProps {
  readonly path: string
  readonly canSave: boolean
  readonly isSaving: boolean
  /** Saves the text. Null: the key may not. */
  readonly saveNow: (() => void) | null
  /** Says how the text differs from the file. */
  readonly status: string
}

/** The bar above the text: save, download, and the keys. */
function EditorBar({ path, canSave, isSaving, saveNow, status }: EditorBarProps) {
  return (
    <div className="actions">
      {saveNow === null ? null : (
        <BusyButton className="button primary" isDisabled={!canSave} isBusy={isSaving} onPress={saveNow}>
          Save
        </BusyButton>
      )}
      <DownloadButton file={{ path, name: baseOf(path), type: 'file', size_bytes: 0 }} />
      <span role="status" className="muted">
        {status}
      </span>
      <span className="spacer" />
      <span className="muted">Ctrl+S saves. Ctrl+F finds in the text. Escape, then Tab leaves it.</span>
    </div>
  )
}

/** Asks before a page with changes is left. */
function LeaveQuestion({ isChanged }: { readonly isChanged: boolean }) {
  const leaving = useBlocker({
    shouldBlockFn: () => isChanged,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      isOpen={leaving.status === 'blocked'}
      onOpenChange={(isOpen) => {
        if (!isOpen) leaving.reset?.()
      }}
      title="Leave without saving?"
      action="Leave"
      keep="Stay"
      isPending={false}
      onConfirm={() => leaving.proceed?.()}
    >
      <p>The changes in the editor would be lost.</p>
    </ConfirmDialog>
  )
}
