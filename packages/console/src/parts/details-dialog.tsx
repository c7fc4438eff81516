import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { Foreign } from './foreign.tsx'
import { TextBlock } from './text-block.tsx'

interface DetailsProps {
  readonly title: string
  /** The data as the API has it. */
  readonly data: unknown
  readonly onClose: () => void
}

/** Shows one thing as the API has it. Its texts may be hostile. */
export function DetailsDialog({ title, data, onClose }: DetailsProps) {
  return (
    <Modal className="modal wide" isOpen onOpenChange={onClose} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">
          <Foreign>{title}</Foreign>
        </Heading>
        <TextBlock label="Details" text={JSON.stringify(data, null, 2)} />
        <div className="actions end">
          <Button className="button" onPress={onClose}>
            Close
          </Button>
        </div>
      </Dialog>
    </Modal>
  )
}
