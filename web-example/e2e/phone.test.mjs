/** Every screen of a phone. */
import { everyScreen } from './everywhere.mjs';

everyScreen('phone');
