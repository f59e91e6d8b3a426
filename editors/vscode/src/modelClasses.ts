/** Model classes as their source names them. */

export interface PythonClass {
  name: string;
  /** The last names of its bases: `Module` of `nn.Module`. */
  bases: string[];
  /** From 0. */
  line: number;
}

/** Classes at the top level. */
export function classesIn(text: string): PythonClass[] {
  return [...text.matchAll(/^class\s+(\w+)\s*\(([^)]*)\)\s*:/gm)].map(({ index, 1: name = '', 2: bases = '' }) => ({
    name,
    bases: bases.split(',').flatMap((base) => /^\s*(?:\w+\s*\.\s*)*(\w+)\s*(?:\[|$)/.exec(base)?.[1] ?? []),
    line: text.slice(0, index).split('\n').length - 1,
  }));
}

/**
 * Those with a base that is called Module or PreTrainedModel, or ends so (`nn.Module`, `LightningModule`,
 * `BertPreTrainedModel`), and those with such a class as a base, by its name.
 */
export function modelsOf<Class extends PythonClass>(classes: Class[]): Class[] {
  const models = new Set<string>();
  const isModel = (base: string) => /(Module|PreTrainedModel)$/.test(base) || models.has(base);
  for (let before = -1; before < models.size; ) {
    before = models.size;
    for (const { name, bases } of classes) if (bases.some(isModel)) models.add(name);
  }
  return classes.filter(({ bases }) => bases.some(isModel));
}
