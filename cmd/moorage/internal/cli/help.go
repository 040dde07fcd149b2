package cli

import (
	"github.com/alecthomas/kong"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// helpTexts returns the texts that are too long for a struct tag, by the names that tags use.
func helpTexts() kong.Vars {
	return kong.Vars{
		"origins":        ",krateo-v0.7,krateo-v0.9,crossplane-v1,crossplane-v2",
		"help_kind_name": "Singular noun that begins with a capital letter. Reserved are " + scaffold.Reserved() + ".",
		"help_kind_class": "What makes it safe to create again when an answer was lost: the name is chosen here (named), " +
			"the API knows a request again by a token (token), what was created can be searched for (findable), or " +
			"nothing does (opaque).",
		"help_place_generate": "Run make generate afterwards, which makes deep copies, CRDs and the role.",
		"help_kind_details": "Its objects publish connection details in a Secret that they name in " +
			"spec.writeConnectionSecretToRef: what the API returns (returned, the default), or a user name and a " +
			"password that the provider generates (password).",
		"help_kind_refers": "Kind that its objects refer to, and that exists. Several are separated by commas. A reference " +
			"that an existing kind is to have is written under refersTo in moorage.json: moorage diff --apply makes it.",
		"help_kind_stamp": "The API cannot store which object owns a resource. Whatever has the external name counts as " +
			"the resource of the object.",
		"help_place_check": "Check before anything is written that the new Go files compile with yours.",
		"help_kind":        "Add a kind of managed resource: its type, its client, a fake of its API, and its tests.",
		"help_providerconfig": "Add ProviderConfig and ClusterProviderConfig, which say where the API is and with which " +
			"credentials.",
		"help_diff": "Show what the templates of this moorage would change in the provider in this folder, and change it, " +
			"hunk by hunk.",
		"help_code": "Show what has to change in the code of a provider that was written for another runtime, or change " +
			"it. This is the default command: moorage migrate --apply is moorage migrate code --apply.",
		"help_objects": "Show what has to change in the annotations and finalizers of objects that another runtime left in " +
			"a cluster, or change it.",
		"help_dev": "Run the provider on this machine, with an API server and the fake of its API; make both again when " +
			"their source changes.",
		"help_dev_fake": "Where the fake of the API is; nothing is started there if $API_URL says where the API is. The " +
			"default is 127.0.0.1:8090.",
		"help_diff_keepmine": "With --apply: where you changed the same lines, keep yours and never ask again. The default " +
			"is to " +
			"leave them, and to show them again.",
		"help_diff_version": "Release of Moorage to use from now on. The default is that of this program, if it is one.",
		"help_init_client": "How the provider reaches the external system: by HTTP and JSON (http), or by an interface " +
			"that your client implements, for all other protocols and libraries (interface).",
		"help_init_dir":       "Folder of the repository, which is made if it is missing. The default is this one.",
		"help_init_module":    "Path of the Go module. Its last element is what the provider calls itself.",
		"help_source_version": "Release of Moorage to use. The default is that of this program.",
		"help_migrate_dir":    "Folder with the go.mod of the provider. The default is the current one.",
		"help_migrate_from": "Runtime that the provider was written for: krateo-v0.7 (provider-runtime before v0.8), " +
			"krateo-v0.9 " +
			"(v0.8 or later), crossplane-v1 or crossplane-v2. The default is read from its go.mod.",
		"help_migrateobjects_kinds": "Kinds of managed resources, as kubectl get takes them, such as roles.example.org.",
		"help_migrateobjects_configs": "Kinds of provider configurations, as kubectl get takes them, such as " +
			"providerconfigs.example.org.",
		"help_migrateobjects_backto": "Give the objects back to the runtime before: krateo-v0.7, krateo-v0.9, " +
			"crossplane-v1 or " +
			"crossplane-v2. The provider on Moorage has to be stopped. Before you start it again, run the " +
			"command without this flag, with --apply: it takes over what went back.",
		"help_migrateobjects_context": "Context of the kubeconfig. The default is its current context.",
		"help_plan_keepmine": "Succeed although files that you changed or created are left alone. The default is to leave " +
			"them, to " +
			"write the others, and to fail.",
		"help_test_only": "Run one part alone: units, conformance (the client of each kind, with everything that goes " +
			"wrong), " +
			"or budgets (requests, counted on a real API server).",
	}
}
