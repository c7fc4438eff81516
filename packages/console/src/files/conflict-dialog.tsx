import { useState } from 'react'
import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { Difference } from './difference.tsx'
import { editableBytes, fileText } from './file-text.ts'
import type { Conflict } from './use-save.ts'

interface ConflictDialogProps {
  readonly conflict: Conflict | null
  readonly onReload: () => Promise<void>
  readonly onOverwrite: (conflict: Conflict) => void
  readonly onClose: () => void
}

/** Asks what to do with a text if the file has another version than the one that was opened. */
export function ConflictDialog({ conflict, onReload, onOverwrite, onClose }: ConflictDialogProps) {
  return (
    <Modal
      className="modal wide"
      isOpen={conflict !== null}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose()
      }}
      isDismissable
    >
      <Dialog className="dialog" role="alertdialog">
        <Heading slot="title">
          {conflict?.theirs === null ? 'The file is gone' : 'The file has changed in the runtime'}
        </Heading>
        {conflict === null ? null : (
          <Choices conflict={conflict} onReload={onReload} onOverwrite={onOverwrite} onClose={onClose} />
        )}
      </Dialog>
    </Modal>
  )
}

function Choices({ conflict, onReload, onOverwrite, onClose }: ConflictDialogProps & { readonly conflict: Conflict }) {
  const [isShown, setShown] = useState(false)
  const { mine, theirs } = conflict
  const theirText = theirs === null ? null : textOf(theirs.bytes)
  return (
    <>
      {theirs === null ? (
        <p>It was removed or renamed since it was opened here. Nothing was written.</p>
      ) : (
        <p>Somebody else has written it since it was opened here. Nothing was overwritten.</p>
      )}
      {isShown && theirText !== null ? <Difference mine={mine} theirs={theirText} /> : null}
      {theirs !== null && theirText === null ? <p>It is no text of UTF-8 now, or too large to be shown.</p> : null}
      <div className="actions end">
        <Button className="button" onPress={onClose}>
          Keep editing
        </Button>
        {theirText === null || isShown ? null : (
          <Button className="button" onPress={() => setShown(true)}>
            Show the difference
          </Button>
        )}
        {theirs === null ? null : (
          <Button className="button" onPress={() => void onReload()}>
            Reload, without my changes
          </Button>
        )}
        <Button className="button danger" onPress={() => onOverwrite(conflict)}>
          {theirs === null ? 'Write it again' : 'Overwrite'}
        </Button>
      </div>
    </>
  )
}

function textOf(bytes: Uint8Array): string | null {
  if (bytes.length > editableBytes) return null
  const found = fileText(bytes)
  return found.type === 'text' && found.encoding === 'UTF-8' ? found.text : null
}
