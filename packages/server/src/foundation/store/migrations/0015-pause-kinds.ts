export const pauseKinds = `
ALTER TABLE runtimes ADD COLUMN pause_kind TEXT NOT NULL DEFAULT 'memory';
ALTER TABLE runtimes ADD COLUMN origin_image_digest TEXT;
`
