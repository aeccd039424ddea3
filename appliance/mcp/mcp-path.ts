/** Where the management listener serves MCP. */
export const MCP_PATH = '/mcp';
