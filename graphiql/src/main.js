// GraphiQL for this very server. What stands under "Headers", such as `{"authorization": "Bearer …"}`, goes with
// requests, and with the greeting of the socket that carries subscriptions.
import 'graphiql/setup-workers/vite';
import 'graphiql/style.css';
import './page.css';

import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { parse } from 'graphql';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

const url = new URL('/graphql', location.href).href;
const subscriptionUrl = `${url.replace(/^http/, 'ws')}/ws`;
const send = createGraphiQLFetcher({ url, subscriptionUrl });

/** Looks at the document itself: what GraphiQL knows of it lags behind what was typed, and then a subscription goes astray. */
function fetcher(request, options) {
  try {
    return send(request, { ...options, documentAST: parse(request.query) });
  } catch {
    return send(request, options); // the server says what is wrong with it
  }
}

createRoot(document.getElementById('root')).render(
  createElement(GraphiQL, { fetcher, defaultEditorToolsVisibility: 'variables' }),
);
