// Compiles a template's source so that every value goes through its format, and only in places that the format allows.

import Handlebars from 'handlebars';
import { dedupe, type Lexer, type LexerState, type PlaceholderKind } from './formats/lexer.ts';
import { TemplateError, templateError } from './template-error.ts';
import { extensionOf, formatOf, TEXT_FORMATS, type TextFormatName } from './text-format.ts';

type Statement = hbs.AST.Statement;
type Expression = hbs.AST.Expression;

const BLOCKS = ['if', 'unless', 'each'];
export const KNOWN_HELPERS = Object.fromEntries([...BLOCKS, 'literal', 'shown'].map((name) => [name, true]));

/** What each helper gets besides its value: its location, and the steps of the path to the value. */
export interface PlaceHash {
  readonly template: string;
  readonly file: string;
  readonly line: number;
  readonly field: string;
}
/** Prefix of the names of the steps in the hash. */
export const STEP_PREFIX = 'step ';

interface ReadTemplate {
  readonly program: hbs.AST.Program;
  readonly format: TextFormatName;
  /** The templates that it includes. */
  readonly parts: ReadonlySet<string>;
}

export function readTemplate(sources: ReadonlyMap<string, string>, name: string): ReadTemplate {
  const format = formatOf(name);
  if (format === null) throw templateError(name, 'has no known text format');
  const reader = new TemplateReader(sources, name);
  const program = reader.read(name, 1);
  reader.checkPlaces(program, TEXT_FORMATS[format].lexer);
  return { program, format, parts: reader.parts };
}

class TemplateReader {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #template: string;
  readonly #open: string[] = [];
  readonly parts = new Set<string>();

  constructor(sources: ReadonlyMap<string, string>, template: string) {
    this.#sources = sources;
    this.#template = template;
  }

  read(name: string, line: number): hbs.AST.Program {
    const including = this.#open.at(-1) ?? name;
    const source = this.#sources.get(name);
    if (source === undefined) throw this.#error(including, line, `there is no template ${name}`);
    if (this.#open.includes(name)) throw this.#error(including, line, `includes itself through ${name}`);
    if (source.includes('\0')) throw this.#error(name, null, 'has the character U+0000');
    this.#open.push(name);
    const program = this.#parsed(name, source);
    program.body = this.#checked(program.body);
    this.#open.pop();
    return program;
  }

  #parsed(name: string, source: string): hbs.AST.Program {
    try {
      return Handlebars.parse(source, { srcName: name });
    } catch (error) {
      const line = (error as { readonly lineNumber?: number }).lineNumber ?? null;
      throw this.#error(name, line, (error as Error).message.replace(/\s+/g, ' '));
    }
  }

  #checked(body: readonly Statement[]): Statement[] {
    return body.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): Statement[] {
    switch (statement.type) {
      case 'ContentStatement':
        return [statement];
      case 'CommentStatement':
        return [];
      case 'MustacheStatement':
        this.#throughFormat(statement as hbs.AST.MustacheStatement);
        return [statement];
      case 'BlockStatement':
        this.#block(statement as hbs.AST.BlockStatement);
        return [statement];
      case 'PartialStatement':
        return this.#part(statement as hbs.AST.PartialStatement);
      default:
        throw this.#errorAt(statement, `${statement.type} is not allowed`);
    }
  }

  /** The part's statements replace the partial statement. */
  #part(statement: hbs.AST.PartialStatement): Statement[] {
    if (statement.params.length > 0 || statement.hash?.pairs.length > 0) {
      throw this.#errorAt(statement, 'a part cannot have parameters');
    }
    const original = (statement.name as hbs.AST.PathExpression).original;
    const folder = this.#template.slice(0, this.#template.lastIndexOf('/') + 1);
    const extension = extensionOf(this.#template);
    const name = `${folder}${original}${extension === '' || extensionOf(original) !== '' ? '' : `.${extension}`}`;
    if (this.#sources.has(name) && formatOf(name) !== formatOf(this.#template)) {
      throw this.#errorAt(statement, `the part ${name} has another format`);
    }
    this.parts.add(name);
    return this.read(name, statement.loc.start.line).body;
  }

  #block(block: hbs.AST.BlockStatement): void {
    const helper = this.#path(block.path).original;
    const [only, ...more] = block.params;
    if (!BLOCKS.includes(helper) || only === undefined || more.length > 0 || block.hash?.pairs.length > 0) {
      throw this.#errorAt(block, `only {{#${BLOCKS.join(' x}}, {{#')} x}} are blocks`);
    }
    const value = this.#path(only);
    block.hash = this.#place(value, block);
    for (const program of [block.program, block.inverse]) {
      if (program) program.body = this.#checked(program.body);
    }
  }

  /** Rewrites `{{x}}` to `{{literal x}}`, with the names that an error needs. */
  #throughFormat(statement: hbs.AST.MustacheStatement): void {
    // {{{x}}} and {{&x}} request the unescaped value.
    if (!statement.escaped) throw this.#errorAt(statement, 'a value cannot bypass its format');
    const path = this.#path(statement.path);
    const isShown = path.original === 'shown' && statement.params.length > 0;
    const [only, ...more] = isShown ? statement.params : [path, ...statement.params];
    if (only === undefined || more.length > 0 || statement.hash?.pairs.length > 0) {
      throw this.#errorAt(statement, 'only {{value}} and {{shown value}} are allowed');
    }
    const value = this.#path(only);
    statement.params = [value];
    statement.path = pathTo([isShown ? 'shown' : 'literal'], 0, statement.loc);
    statement.hash = this.#place(value, statement);
  }

  #path(expression: Expression | hbs.AST.Literal): hbs.AST.PathExpression {
    if (expression.type === 'PathExpression') return expression as hbs.AST.PathExpression;
    throw this.#errorAt(expression, `${expression.type} is not allowed`);
  }

  #place(value: hbs.AST.PathExpression, { loc }: hbs.AST.Node): hbs.AST.Hash {
    const steps = value.data ? [] : value.parts.map((_part, count) => value.parts.slice(0, count));
    return {
      type: 'Hash',
      loc,
      pairs: [
        pair('template', literal('StringLiteral', this.#template, loc)),
        pair('file', literal('StringLiteral', this.#file, loc)),
        pair('line', literal('NumberLiteral', loc.start.line, loc)),
        pair('field', literal('StringLiteral', value.original, loc)),
        ...steps.map((parts, count) => pair(`${STEP_PREFIX}${count}`, pathTo(parts, value.depth, loc))),
      ],
    };
  }

  get #file(): string {
    return this.#open.at(-1) ?? this.#template;
  }

  #errorAt({ loc }: hbs.AST.Node, reason: string): TemplateError {
    return this.#error(this.#file, loc.start.line, reason);
  }

  #error(file: string, line: number | null, reason: string): TemplateError {
    return new TemplateError({ template: this.#template, file, line, field: null }, reason);
  }

  /** Follows the text on all paths through the blocks at once. */
  checkPlaces(program: hbs.AST.Program, lexer: Lexer): void {
    const states = this.#through(program.body, lexer, [lexer.start], {});
    for (const state of states) {
      const problem = lexer.end(state);
      if (problem !== null) throw templateError(this.#template, problem);
    }
  }

  #through(body: readonly Statement[], lexer: Lexer, from: States, turn: Turn): States {
    return body.reduce((states, statement) => this.#after(statement, lexer, states, turn), from);
  }

  #after(statement: Statement, lexer: Lexer, states: States, turn: Turn): States {
    if (statement.type === 'BlockStatement') {
      return this.#behindBlock(statement as hbs.AST.BlockStatement, lexer, states, turn);
    }
    return dedupe(
      states.map((state) => {
        const next =
          statement.type === 'ContentStatement'
            ? lexer.text(state, (statement as hbs.AST.ContentStatement).value)
            : lexer.value(state, kindOf(statement as hbs.AST.MustacheStatement));
        if (next.ok) return next.value;
        throw this.#error(statement.loc.source ?? this.#template, statement.loc.start.line, next.reason);
      }),
    );
  }

  #behindBlock(block: hbs.AST.BlockStatement, lexer: Lexer, states: States, turn: Turn): States {
    const body = block.program?.body ?? [];
    const otherwise = block.inverse?.body ?? [];
    const helper = (block.path as hbs.AST.PathExpression).original;
    if (helper === 'each') {
      const first = this.#through(body, lexer, states, { '@first': true, '@last': false });
      const more = this.#through(body, lexer, first, { '@first': false, '@last': false });
      return dedupe([
        ...this.#through(body, lexer, states, { '@first': true, '@last': true }),
        ...this.#through(body, lexer, dedupe([...first, ...more]), { '@first': false, '@last': true }),
        ...this.#through(otherwise, lexer, states, turn),
      ]);
    }
    const known = turn[(block.params[0] as hbs.AST.PathExpression).original];
    const isTaken = known === undefined ? undefined : known === (helper === 'if');
    return dedupe([
      ...(isTaken === false ? [] : this.#through(body, lexer, states, turn)),
      ...(isTaken === true ? [] : this.#through(otherwise, lexer, states, turn)),
    ]);
  }
}

type States = readonly LexerState[];
/** What is known about @first and @last in a list. */
type Turn = Readonly<Record<string, boolean>>;

const kindOf = (statement: hbs.AST.MustacheStatement): PlaceholderKind =>
  (statement.path as hbs.AST.PathExpression).original === 'shown' ? 'shown' : 'value';

const pathTo = (parts: readonly string[], depth: number, loc: hbs.AST.SourceLocation): hbs.AST.PathExpression => ({
  type: 'PathExpression',
  loc,
  data: false,
  depth,
  parts: [...parts],
  original: parts.length === 0 ? 'this' : parts.join('.'),
});

const pair = (key: string, value: Expression): hbs.AST.HashPair => ({ type: 'HashPair', loc: value.loc, key, value });

function literal(type: 'StringLiteral' | 'NumberLiteral', value: string | number, loc: hbs.AST.SourceLocation) {
  return { type, loc, value, original: value } as Expression;
}
