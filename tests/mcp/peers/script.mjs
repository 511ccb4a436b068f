// What both TypeScript peers do: one tool call as told by argv[2] (JSON), each event as one JSON line on stdout.
// {url, token, headers, era, bridge, name, args, progress, timeoutMs, cancelAfterMs, closeAfterMs, stay}

export const script = JSON.parse(process.argv[2]);

export function say(event, more = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
}

export function options() {
  const signal = script.cancelAfterMs ? AbortSignal.timeout(script.cancelAfterMs) : undefined;
  const onprogress = script.progress ? (progress) => say('progress', { progress: progress.progress }) : undefined;
  return { timeout: script.timeoutMs ?? 60_000, signal, onprogress };
}

export async function run(call, transport) {
  if (script.closeAfterMs) setTimeout(() => close(transport), script.closeAfterMs);
  try {
    const result = await call();
    say('result', { isError: result.isError ?? false, structured: result.structuredContent, content: result.content });
  } catch (error) {
    say('error', { message: String(error?.message ?? error) });
  }
  if (script.stay) setInterval(() => {}, 1_000);
  else process.exit(0);
}

/** Ends the MCP session where there is one, and the connection. */
async function close(transport) {
  await transport.terminateSession?.();
  await transport.close();
}

// The library reports lost streams by itself, too; the script's own outcome is what counts.
process.on('unhandledRejection', (error) => say('stray', { message: String(error?.message ?? error) }));
