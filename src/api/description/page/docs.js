/* global SwaggerUIBundle */
// Without validatorUrl, Swagger UI would send the document to a service of its makers.
SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, validatorUrl: null, defaultModelsExpandDepth: 0 });
