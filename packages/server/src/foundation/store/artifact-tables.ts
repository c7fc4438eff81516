/** The images and checkpoints of a fleet. */
export interface ArtifactsTable {
  /** The digest of an image, or the id of a checkpoint. */
  readonly artifact_id: string
  readonly kind: ArtifactKind
  readonly bytes: number
  /** The class of hosts that can restore a checkpoint. Null: an image, which every host can use. */
  readonly class_id: string | null
  /** The digest of its description, by which a host that receives it knows it. */
  readonly description_digest: string | null
  /** `local`: on the disk of `host_id` alone. `stored`: in the object store. */
  readonly state: 'local' | 'stored'
  /** The host that made it. */
  readonly host_id: string | null
  readonly made_at: number
  readonly stored_at: number | null
  /** The time since which no row refers to it. Null: one does. */
  readonly unneeded_since: number | null
  /** The time from which no new row may refer to it. Null: one may. */
  readonly condemned_at: number | null
}

/** Artifacts without a row, whose objects are still to be removed from the object store. */
export interface ArtifactTrashTable {
  readonly artifact_id: string
  readonly kind: ArtifactKind
  readonly condemned_at: number
}

/** Artifacts that a host needs and no other row refers to, until its epoch is over. */
export interface ArtifactHoldsTable {
  readonly artifact_id: string
  readonly holder: string
  readonly host_id: string
  readonly host_epoch: number
}

/** The checkpoint of a template for each class of hosts. */
export interface TemplateCheckpointsTable {
  readonly template_id: string
  readonly class_id: string
  readonly checkpoint_id: string
  /** The image of the checkpoint. The row is out of date if the template has another one. */
  readonly image_digest: string
  readonly made_at: number
}

/** The hosts that take a checkpoint of a template for their class, or have failed to. */
export interface TemplateRetakesTable {
  readonly template_id: string
  readonly class_id: string
  readonly host_id: string
  readonly host_epoch: number
}

type ArtifactKind = 'image' | 'checkpoint'
