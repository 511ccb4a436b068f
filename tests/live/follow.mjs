// One subscription on a raw socket of its own, for suites that look at what is told and not at the protocol.
import WebSocket from 'ws';

/**
 * Subscribes, by the token if there is one. `hear` is called with the payload of each `next`; `started` resolves after
 * the first of them, `closed` with the close code.
 */
export function follow(address, query, { variables, token, hear = () => {} } = {}) {
  const socket = new WebSocket(`ws://${address}/graphql/ws`, 'graphql-transport-ws', { perMessageDeflate: false });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {}); // `closed` tells
  socket.once('open', () => {
    socket.send(JSON.stringify({ type: 'connection_init', payload: token && { authorization: `Bearer ${token}` } }));
    socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query, variables } }));
  });
  const started = new Promise((resolve) => {
    socket.on('message', (data) => {
      const { type, payload } = JSON.parse(data);
      if (type === 'error') socket.terminate();
      if (type !== 'next') return;
      hear(payload);
      resolve(payload);
    });
  });
  return { socket, started, closed };
}
