// Generates docs/mcp.md from the tool table.

import { descriptionOf, TOOL_NAMES, TOOLS, type Tool } from './tools.ts';

const INTRODUCTION = `# Tools for agents (MCP)

<!-- Generated from appliance/mcp/ by \`npm run docs\`. -->

An agent is a program that acts for people, usually with a language model. The appliance serves it tools over the Model Context Protocol:
\`/mcp\` on the management listener (streamable HTTP, protocol revisions 2026-07-28 and 2025-11-25, without sessions). The boot listener and
the node API serve none of it.

\`\`\`sh
coldiron api-token create night-watch --role agent       # once: the token of the agent
coldiron mcp --server https://host:8443 --token-file agent.token   # for clients that start a program
\`\`\`

A client that speaks HTTP uses \`https://host:8443/mcp\` with \`Authorization: Bearer TOKEN\`. \`coldiron mcp\` passes messages between standard
input and output and that endpoint; without \`--server\`, it uses the socket of the appliance on this machine.

## What an agent may do

| role of the token | tools |
|---|---|
| \`agent\` | all of them. Over the rest of the API it reads what a viewer reads, and makes proposals |
| a role of people | those whose operation the role permits |

Everything that comes over MCP is audited as \`agent:NAME\`, whoever's token it uses. On the socket an agent has the role \`agent\`, not that
of the local user.

## Proposals

A tool that destroys or interrupts something carries nothing out. It returns a proposal: what would happen, to which node, what is affected, a
hash of all this, and when it expires (1 hour). A person approves it:

\`\`\`sh
coldiron proposals list
coldiron proposals show PROPOSAL
coldiron proposals approve PROPOSAL
coldiron proposals reject PROPOSAL --reason "not tonight"
\`\`\`

- The approver is not an agent, not the one whose token the agent uses, and has a role that this token does not have, and the role that
  the operation needs.
- The approval names the hash. It is refused when the node has changed since: the proposal fails, and says what changed.
- With the approval, the operation is carried out at once by the same code as a direct call, as \`agent:NAME\`, with the approvers in its note.
  After a crash it is continued, and never carried out twice. An operation that is not safe to repeat (power) fails then.
- The agent calls the same tool again with \`proposal\` to see how it ended.

An elicitation of the protocol is no approval: the program of the agent could answer it. One proposer has at most 50 open proposals. People
can propose as well (\`POST /api/v1/proposals\`); then another person approves. Changes of SKUs that nodes use are proposals too:
[skus.md](skus.md).

## Texts of machines

Host names, serial numbers, DMI strings, LLDP neighbours and console lines come from machines, and may contain instructions to a language model.
They are only in fields of \`data\`, never in our sentences. Control and invisible characters are escaped, a text has at most 400 characters
and a list 200 items (\`cut\` points at what was cut). \`untrusted\` points at the texts that machines write. The instructions of the server tell
the model that these are data. That is help, not protection: the protection is that an agent destroys nothing alone.

Errors are results with \`isError\` and the codes of the API: \`{error: {code, message, hint, correlation_id}}\`.

## Tools
`;

export function mcpDocument(): string {
  const head = ['| tool | what it does | operation | how |', '|---|---|---|---|'];
  const rows = TOOL_NAMES.map((name) => {
    const tool: Tool = TOOLS[name];
    const operation = tool.mode === 'skill' ? '' : `\`${tool.operation}\``;
    return `| \`${name}\` | ${descriptionOf({ ...tool })} | ${operation} | ${HOW[tool.mode]} |`;
  });
  return `${INTRODUCTION}\n${[...head, ...rows].join('\n')}\n`;
}

const HOW: Readonly<Record<Tool['mode'], string>> = {
  read: 'reads',
  write: 'writes at once',
  proposal: '**proposes**',
  skill: 'reads',
};
