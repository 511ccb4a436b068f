/** Every screen of a desktop. */
import { everyScreen } from './everywhere.mjs';

everyScreen('desktop');
