// Package plan is the command of a provider that shows what the provider would do, without doing it. It plans all
// objects of the provider's kinds, or those of manifests that are not applied yet, and prints a table or JSON. Start
// with Run. Package managed has the plan of each object, and says why nothing is changed.
package plan
