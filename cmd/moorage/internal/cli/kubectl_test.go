package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// kubectl replaces the program of that name, which not every machine has. The objects of a kind are in a file of that
// name; get prints it, and patch changes its object whose version the patch names.
func kubectl() {
	if err := standIn(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func standIn(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("this kubectl does not know %q", args)
	}

	file := args[1] + ".json"

	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the server doesn't have a resource type %q", args[1])
	}

	if args[0] == "get" {
		_, err := os.Stdout.Write(text)

		return err
	}

	var list struct {
		Items []map[string]map[string]any `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}

	for _, o := range list.Items {
		if o["metadata"]["name"] == args[2] {
			if err := change(o, args); err != nil {
				return err
			}
		}
	}

	text, err = json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}

	return os.WriteFile(file, text, 0o600)
}

// change applies the patch of the arguments to an object, or to its status.
func change(o map[string]map[string]any, args []string) error {
	for _, arg := range args {
		text, ok := strings.CutPrefix(arg, "--patch=")

		switch {
		case !ok:
		case slices.Contains(args, "--subresource=status"):
			return changeStatus(o, text)
		default:
			patch := map[string]map[string]any{}
			if err := json.Unmarshal([]byte(text), &patch); err != nil {
				return err
			}

			return merge(o["metadata"], patch["metadata"])
		}
	}

	return nil
}

// changeStatus removes conditions as a JSON patch says.
func changeStatus(o map[string]map[string]any, text string) error {
	var operations []struct{ Op, Path, Value string }
	if err := json.Unmarshal([]byte(text), &operations); err != nil {
		return err
	}

	for _, operation := range operations {
		if operation.Path == "/metadata/resourceVersion" {
			if o["metadata"]["resourceVersion"] != operation.Value {
				return errors.New("the object has been modified")
			}

			continue
		}

		conditions := o["status"]["conditions"].([]any)

		index, err := strconv.Atoi(strings.Split(operation.Path, "/")[3])
		if err != nil {
			return err
		}

		switch operation.Op {
		case "test":
			if conditions[index].(map[string]any)["type"] != operation.Value {
				return fmt.Errorf("there is another value at %s", operation.Path)
			}
		case "remove":
			o["status"]["conditions"] = slices.Delete(conditions, index, index+1)
		}
	}

	return nil
}

// merge merges a patch into the metadata of an object.
func merge(metadata, patch map[string]any) error {
	if patch["resourceVersion"] != metadata["resourceVersion"] {
		return errors.New("the object has been modified")
	}

	if f, ok := patch["finalizers"]; ok {
		metadata["finalizers"] = f
	}

	more, _ := patch["annotations"].(map[string]any)
	for key, value := range more {
		if value == nil {
			delete(metadata["annotations"].(map[string]any), key)
		} else {
			metadata["annotations"].(map[string]any)[key] = value
		}
	}

	metadata["resourceVersion"] = fmt.Sprint(metadata["resourceVersion"], "1")

	return nil
}
