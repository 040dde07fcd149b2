// Package scaffold plans the files of a provider's repository. It reads nothing but
// its templates, and writes nothing: [Plan] says what has to change for a [Project]
// to become another, and [Apply] does it to a folder without touching what is not
// as some plan left it.
//
// The templates are the files below templates, laid out as the project they make.
// In a path, VERSION stands for an API version and KIND for a kind in lower case;
// a template of the folder
//
//	project         makes one file
//	version         makes one for each API version
//	kind            makes one for each kind
//	http            makes one if the client speaks HTTP
//	httpkind        makes one for each kind then
//	interface       makes one if the client is an interface
//	interfacekind   makes one for each kind then
//	references      makes one for each kind that refers to others
//	firstkind       makes one once there is a kind
//	static          makes one as long as there is no ProviderConfig
//	providerconfig  makes one once there is
//
// What a kind's own template makes depends on that kind alone, so it is made once
// and then its author's. What depends on all kinds says in its first line that it
// is generated.
package scaffold
