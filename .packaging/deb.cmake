# Run by cpack on the staged files: what Debian asks of a package and a plain install has no need
# of. Manual pages and the changelog are compressed, and the licence is named by reference.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(doc ${share}/doc/${CPACK_PACKAGE_NAME})
file(GLOB pages ${share}/man/man*/*.[1-8])
if(NOT pages OR NOT EXISTS ${doc}/copyright)
  message(FATAL_ERROR "${share} has no manual pages or no copyright")
endif()
foreach(name changelog copyright)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name} ${doc}/${name} COPYONLY)
  file(CHMOD ${doc}/${name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
# Directories above the files are cpack's own, made under the umask.
file(GLOB_RECURSE below LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(path IN LISTS below)
  if(IS_DIRECTORY ${path})
    file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
      GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endif()
endforeach()
# -n: no name and no time inside, so that equal pages make equal files.
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
