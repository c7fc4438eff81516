/**
 * The hosts that take a checkpoint of a template for their class. A row is in force while the epoch
 * of its host lasts. So the row of a failure keeps the other hosts of the class from the same.
 */
export const templateRetakes = `
CREATE TABLE template_retakes (
  template_id TEXT NOT NULL,
  class_id TEXT NOT NULL,
  host_id TEXT NOT NULL,
  host_epoch INTEGER NOT NULL,
  PRIMARY KEY (template_id, class_id)
) STRICT, WITHOUT ROWID;
`
