export const checkpointRecipe = `
ALTER TABLE templates ADD COLUMN checkpoint_recipe_json TEXT;
`
