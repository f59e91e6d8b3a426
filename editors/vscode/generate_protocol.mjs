// generate_protocol.mjs: writes src/protocol.ts from protocol/ridgeline.schema.json and the definitions of
// protocol/report.schema.json that it refers to; and of that one src/report.ts, for the page in web/. Of JSON Schema it knows what these two files use, and fails on the rest.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const read = (name) => JSON.parse(readFileSync(new URL(`../../protocol/${name}`, import.meta.url), 'utf8'));
const [own, report] = [read('ridgeline.schema.json'), read('report.schema.json')];
const reportTypes = new Map(); // by name, in the order in which they are referred to
const constraints = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'minLength',
  'pattern',
  'maxItems',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
];

const pascal = (name) => name[0].toUpperCase() + name.slice(1);
const comment = (schema, indent) => (schema.description === undefined ? '' : `${indent}/** ${schema.description} */\n`);

/** The name of what a reference points to; a definition of the report is generated once something refers to it. */
function referred(reference, inReport) {
  const [file, path] = reference.split('#/$defs/');
  const [name, ...inside] = path.split('/');
  if (file !== '' || inReport) {
    if (!reportTypes.has(name)) {
      reportTypes.set(name, '');
      reportTypes.set(name, declaration(name, report.$defs[name], true));
    }
  }
  return (
    pascal(name) +
    inside
      .filter((part) => part !== 'properties')
      .map((part) => `['${part}']`)
      .join('')
  );
}

function objectType({ properties = {}, required = [], additionalProperties }, inReport, indent) {
  if (Object.keys(properties).length === 0 && typeof additionalProperties === 'object') {
    return `Record<string, ${type(additionalProperties, inReport, indent)}>`;
  }
  const members = Object.entries(properties).map(
    ([name, schema]) =>
      `${comment(schema, `${indent}  `)}${indent}  ${name}${required.includes(name) ? '' : '?'}: ${type(schema, inReport, `${indent}  `)};\n`,
  );
  return `{\n${members.join('')}${indent}}`;
}

function type(schema, inReport, indent = '') {
  const {
    $ref,
    anyOf,
    enum: values,
    const: value,
    type: types,
    description,
    items,
    properties,
    required,
    additionalProperties,
    ...rest
  } = schema;
  const unknown = Object.keys(rest).filter((key) => !constraints.includes(key));
  if (unknown.length > 0)
    throw new Error(`${unknown} is not known to the generator: ${JSON.stringify(schema).slice(0, 200)}`);
  if ($ref !== undefined) {
    const base = referred($ref, inReport);
    return properties === undefined ? base : `${base} & ${objectType(schema, inReport, indent)}`;
  }
  if (values !== undefined) return values.map((one) => JSON.stringify(one)).join(' | ');
  if (value !== undefined) return JSON.stringify(value);
  // Alternatives that only say which members are required belong to an object.
  if (anyOf !== undefined && types === undefined) return anyOf.map((one) => type(one, inReport, indent)).join(' | ');
  return [types]
    .flat()
    .map((one) => {
      switch (one) {
        case 'object':
          return objectType(schema, inReport, indent);
        case 'array':
          return `(${type(items, inReport, indent)})[]`;
        case 'integer':
        case 'number':
          return 'number';
        case 'string':
        case 'boolean':
        case 'null':
          return one;
        default:
          throw new Error(`no type: ${JSON.stringify(schema).slice(0, 200)}`);
      }
    })
    .join(' | ');
}

function declaration(name, schema, inReport) {
  return `${comment(schema, '')}export type ${pascal(name)} = ${type(schema, inReport)};\n`;
}

const ownTypes = Object.entries(own.$defs).map(([name, schema]) => declaration(name, schema, false));
const methods = (direction) => Object.entries(own.methods).filter(([, method]) => method.direction === direction);
const requests = methods('clientToServer').map(
  ([name, { params, result }]) =>
    `  '${name}': {\n    params: ${type(params, false, '    ')};\n    result: ${type(result, false, '    ')};\n  };\n`,
);
const notifications = methods('serverToClient').map(
  ([name, { params }]) => `  '${name}': ${type(params, false, '  ')};\n`,
);

writeFileSync(
  fileURLToPath(new URL('src/protocol.ts', import.meta.url)),
  [
    '/** Generated from protocol/ridgeline.schema.json by generate_protocol.mjs. */\n',
    ...reportTypes.values(),
    ...ownTypes,
    `/** Parameters and results of our own requests, by method. */\nexport interface Requests {\n${requests.join('')}}\n`,
    `/** Parameters of our own notifications, by method. */\nexport interface Notifications {\n${notifications.join('')}}\n`,
  ].join('\n'),
);

reportTypes.clear();
const { $schema, $id, title, $defs, ...whole } = report;
const wholeReport = declaration('report', whole, true);
writeFileSync(
  fileURLToPath(new URL('src/report.ts', import.meta.url)),
  [
    '/** Generated from protocol/report.schema.json by generate_protocol.mjs. */\n',
    ...reportTypes.values(),
    wholeReport,
  ].join('\n'),
);
