const SCRIPTED = 'scripted/';

/** The name of an agent's model as people and programs elsewhere may see it: that of a scripted one has no directory, which is of the machine. */
export function modelName({ model }: { model: string }): string {
  return model.startsWith(SCRIPTED) ? SCRIPTED + model.slice(model.lastIndexOf('/') + 1) : model;
}
