// Command kustomize writes what the kustomization in a folder makes, as kubectl kustomize
// does, with what Helm brings along of it.
package main

import (
	"log"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	log.SetFlags(0)

	if len(os.Args) != 2 {
		log.Fatal("name the folder")
	}

	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}

	text, err := made.AsYaml()
	if err != nil {
		log.Fatal(err)
	}

	if _, err := os.Stdout.Write(text); err != nil {
		log.Fatal(err)
	}
}
