'use strict';
// Temporal loads this file by its path, in workers and in the bundle of workflows, when payloads are encrypted: then the message and the stack of an error are a payload too.
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
